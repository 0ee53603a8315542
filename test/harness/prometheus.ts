export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const COMMENT = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`);
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`);
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

/**
 * Reads the text format of Prometheus (version 0.0.4), strictly: every sample belongs to the family announced above it,
 * each series comes once, every value is a number.
 */
export function parseMetrics(text: string): MetricSample[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const samples: MetricSample[] = [];
  const families = new Set<string>();
  const series = new Set<string>();
  let family = { name: '', type: '' };
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, keyword, name = '', rest = ''] = COMMENT.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (families.has(name)) throw new Error(`${name} is announced twice`);
      families.add(name);
    } else if (keyword === 'TYPE') {
      if (!/^(counter|gauge|histogram|summary|untyped)$/.test(rest)) throw new Error(`no type: ${line}`);
      family = { name, type: rest };
    } else {
      const sample = sampleOf(line);
      const suffix = family.type === 'histogram' ? '(_bucket|_sum|_count)' : '';
      if (!new RegExp(`^${family.name}${suffix}$`).test(sample.name))
        throw new Error(`not announced: ${line}`);
      const key = line.slice(0, line.lastIndexOf(' '));
      if (series.has(key)) throw new Error(`twice: ${line}`);
      series.add(key);
      samples.push(sample);
    }
  }
  return samples;
}

function sampleOf(line: string): MetricSample {
  const [, name = '', inner = '', number = ''] = SAMPLE.exec(line) ?? [];
  const value = number === '+Inf' ? Infinity : Number(number);
  if (name === '' || (Number.isNaN(value) && number !== 'NaN')) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  for (LABEL.lastIndex = 0; LABEL.lastIndex < inner.length; ) {
    const [, label = '', text = ''] = LABEL.exec(inner) ?? [];
    if (label === '') throw new Error(`no labels: ${line}`);
    labels[label] = text.replace(/\\(["\\n])/g, (_, one) => (one === 'n' ? '\n' : one));
  }
  return { name, labels, value };
}

/** The sum of the samples of a name that have all these labels; undefined where there is none. */
export function sumOf(
  samples: readonly MetricSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples.filter(
    sample =>
      sample.name === name && Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
