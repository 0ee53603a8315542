/** Of what one cell gave out, the most that is shown. */
const MAX_OUTPUT = 5_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to go
const COLOURS = /\u001b\[[0-9;]{0,30}[A-Za-z]/g;

type Json = Record<string, unknown>;

/** A Jupyter notebook (nbformat 4) as text: its cells in order, each with what it gave out; null where it is none. */
export function notebookText(source: string): string | null {
  const notebook = parsed(source);
  if (!notebook || !Array.isArray(notebook.cells)) return null;
  const cells = notebook.cells.filter(isObject);
  const { kernelspec } = isObject(notebook.metadata) ? notebook.metadata : ({} as Json);
  const kernel = isObject(kernelspec) ? textOf(kernelspec.display_name ?? kernelspec.name) : '';
  const count = `${cells.length} cell${cells.length === 1 ? '' : 's'}`;
  const head = `(notebook, ${count}${kernel ? `, ${kernel}` : ''}; the file itself is JSON)`;
  return [head, ...cells.flatMap(cellLines)].join('\n');
}

function cellLines({ cell_type, source, outputs, execution_count }: Json, index: number): string[] {
  const ran = typeof execution_count === 'number' ? `, run as [${execution_count}]` : '';
  const given = Array.isArray(outputs) ? outputs.filter(isObject).map(outputText).filter(Boolean) : [];
  const output = given.join('\n');
  return [
    `--- cell ${index + 1} (${textOf(cell_type) || 'unknown'}${ran}) ---`,
    textOf(source),
    ...(output ? [`--- output of cell ${index + 1} ---`, shortened(output)] : []),
  ];
}

function outputText({ output_type, text, data, ename, evalue, traceback }: Json): string {
  if (output_type === 'stream') return textOf(text).trimEnd();
  if (output_type === 'error') {
    const trace = Array.isArray(traceback) ? traceback.map(textOf).join('\n') : '';
    return (trace || `${textOf(ename)}: ${textOf(evalue)}`).replace(COLOURS, '');
  }
  if (!isObject(data)) return '';
  const plain = textOf(data['text/plain']).trimEnd();
  const others = Object.keys(data).filter(type => !type.startsWith('text/'));
  const left = others.map(type => `(${type}, ${textOf(data[type]).length} characters, left out)`);
  return [plain, ...left].filter(Boolean).join('\n');
}

function shortened(output: string): string {
  if (output.length <= MAX_OUTPUT) return output;
  const half = MAX_OUTPUT / 2;
  const left = output.length - MAX_OUTPUT;
  return `${output.slice(0, half).toWellFormed()}\n… ${left} characters left out …\n${output.slice(-half).toWellFormed()}`;
}

/** Texts are there whole, or as a list of lines. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.filter(line => typeof line === 'string').join('');
  return '';
}

function parsed(source: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(source);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
