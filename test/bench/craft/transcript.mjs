/** A run as one reads it: what was asked and said, and each call with what it answered. */
export function transcript(ask, log) {
  const calls = log.flatMap((entry, at) => (entry.tool ? [at] : []));
  const results = log.flatMap((entry, at) => ('result' in entry ? [at] : []));
  const answers = new Map(calls.map((at, index) => [at, log[results[index]]?.result]));
  const parts = log.flatMap((entry, at) => {
    if (entry.text) return [entry.text];
    return entry.tool
      ? [`    ${[heading(entry), ...(answers.get(at) ?? '').split('\n')].join('\n    ')}`]
      : [];
  });
  return `> ${ask}\n\n${parts.join('\n\n')}\n`;
}

function heading({ tool, input }) {
  const given = typeof input === 'string' ? JSON.parse(input || '{}') : input;
  const values = Object.entries(given).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `${tool} { ${values.join(', ')} }`;
}
