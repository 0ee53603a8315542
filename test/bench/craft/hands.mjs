/**
 * What a policy wants to do, put as calls of tools in two ways: with all tools of the service, and with `bash` alone, as one works in a plain
 * shell. Both are written as a strong model would: what can be said in one call is, and what came of a change is looked at.
 */

const quote = text => `'${text.replaceAll("'", `'\\''`)}'`;
const absent = value => value === undefined;

/** With all tools. */
const TOOLS = {
  look: (path, from, to) => ({
    tool: 'read_file',
    input: { path, ...(absent(from) ? {} : { start_line: from, end_line: to }) },
  }),
  list: (path = '') => ({ tool: 'list_files', input: { path, recursive: true } }),
  find: pattern => ({ tool: 'find_files', input: { pattern } }),
  search: (query, { path, glob, context, regex, filesOnly, limit } = {}) => ({
    tool: 'search_files',
    input: Object.fromEntries(
      Object.entries({ query, path, glob, context, regex, files_only: filesOnly, limit }).filter(
        ([, value]) => !absent(value),
      ),
    ),
  }),
  edit: (path, old_text, new_text) => ({ tool: 'edit_file', input: { path, old_text, new_text } }),
  edits: edits => ({
    tool: 'multi_edit',
    input: { edits: edits.map(([path, old_text, new_text]) => ({ path, old_text, new_text })) },
  }),
  write: (path, content) => ({ tool: 'write_file', input: { path, content } }),
  start: command => ({ tool: 'bash', input: { command, run_in_background: true } }),
  output: id => ({ tool: 'bash_output', input: { id } }),
  end: id => ({ tool: 'bash_kill', input: { id } }),
};

const bash = (command, timeout_seconds) => ({
  tool: 'bash',
  input: { command, ...(absent(timeout_seconds) ? {} : { timeout_seconds }) },
});

/** Node.js is in every sandbox. A text that is not there once fails; what came of it is looked at afterwards, as the script prints nothing. */
function edited(edits) {
  const changes = edits.map(
    ([path, old, text]) => `  [${[path, old, text].map(part => JSON.stringify(part)).join(', ')}],`,
  );
  const script = bash(`node - <<'EOF'
const fs = require('node:fs');
for (const [path, old, text] of [
${changes.join('\n')}
]) {
  const before = fs.readFileSync(path, 'utf8');
  if (before.split(old).length !== 2) throw new Error(path + ': the text is not there exactly once');
  fs.writeFileSync(path, before.replace(old, () => text));
}
EOF`);
  const paths = [...new Set(edits.map(([path]) => path))];
  return { ...script, after: bash(`git diff -- ${paths.join(' ')}`) };
}

/** With `bash` alone. */
const SHELL = {
  look: (path, from, to) => bash(absent(from) ? `cat ${path}` : `sed -n '${from},${to}p' ${path}`),
  list: (path = '.') =>
    bash(`find ${path} -type f -not -path '*/.git/*' -not -path '*/node_modules/*' | sort`),
  find: pattern => bash(`find . -name ${quote(pattern)} -not -path '*/node_modules/*'`),
  search: (query, { path = '.', glob, context, regex, filesOnly, limit } = {}) => {
    const options = [
      `-rn${regex ? 'E' : 'F'}${filesOnly ? 'c' : ''}`,
      '--exclude-dir=node_modules --exclude-dir=.git',
      ...(glob ? [`--include=${quote(glob)}`] : []),
      ...(context ? [`-C${context}`] : []),
    ];
    const rest = [...(filesOnly ? ["grep -v ':0$'"] : []), ...(limit ? [`head -${limit}`] : [])];
    return bash([`grep ${options.join(' ')} -- ${quote(query)} ${path}`, ...rest].join(' | '));
  },
  edit: (...edit) => edited([edit]),
  edits: edited,
  write: (path, content) =>
    bash(
      `mkdir -p "$(dirname ${path})" && cat > ${path} <<'EOF'\n${content}${content.endsWith('\n') ? '' : '\n'}EOF`,
    ),
  start: command =>
    bash(`(${command}) > /tmp/server.log 2>&1 & echo $! > /tmp/server.pid; sleep 1; cat /tmp/server.log`),
  output: () => bash('cat /tmp/server.log'),
  end: () => bash('kill $(cat /tmp/server.pid)'),
};

export const WAYS = { tools: TOOLS, shell: SHELL };
export { bash };
