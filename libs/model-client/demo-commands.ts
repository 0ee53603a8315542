export interface DemoCommand {
  /** The line as it was written. */
  line: string;
  tool: string;
  input: Record<string, string>;
}

interface Verb {
  name: string;
  usage: string;
  means: string;
  tool: string;
  /** From what follows the verb; undefined where that is no such command. */
  input: (rest: string) => Record<string, string> | undefined;
}

/** More lines of a message are not looked at. */
const MAX_LINES = 1000;

const VERBS: Verb[] = [
  {
    name: 'list',
    usage: 'list [PATH]',
    means: 'shows what a folder holds',
    tool: 'list_files',
    input: rest => ({
      path: /^$|^(?:(?:all|the)\s+){0,5}(?:files|folders|everything)$/i.test(rest) ? '.' : bare(rest),
    }),
  },
  {
    name: 'read',
    usage: 'read PATH',
    means: 'shows a file',
    tool: 'read_file',
    input: rest => (rest ? { path: bare(rest) } : undefined),
  },
  {
    name: 'write',
    usage: 'write PATH: TEXT',
    means: 'puts the text into a file',
    tool: 'write_file',
    input: rest => {
      const colon = rest.indexOf(':');
      return colon > 0
        ? { path: bare(rest.slice(0, colon)), content: rest.slice(colon + 1).replace(/^\s/, '') }
        : undefined;
    },
  },
  {
    name: 'run',
    usage: 'run COMMAND',
    means: 'runs a shell command in the sandbox',
    tool: 'bash',
    input: rest => (rest ? { command: bare(rest) } : undefined),
  },
  {
    name: 'search',
    usage: 'search TEXT',
    means: 'finds files that contain the text',
    tool: 'search_files',
    input: rest => (rest ? { query: bare(rest) } : undefined),
  },
];

/** One line of help for each command. */
export const DEMO_COMMANDS: readonly string[] = VERBS.map(verb => `\`${verb.usage}\` ${verb.means}`);

/** The commands in a message, in order; other lines are passed over. In time that grows with the message alone. */
export function readCommands(message: string): DemoCommand[] {
  return message.split(/\r?\n/, MAX_LINES).flatMap(raw => {
    const line = raw.replace(/^\s*(?:[-*]\s+|\d+[.)]\s+)?/, '').trimEnd();
    const [, name = '', rest = ''] = /^(\w+)(?:\s+(\S.*))?$/s.exec(line) ?? [];
    const verb = VERBS.find(each => each.name === name.toLowerCase());
    const input = verb?.input(rest);
    return verb && input ? [{ line, tool: verb.tool, input }] : [];
  });
}

/** Without the quotes or backticks that people put around a whole argument. */
function bare(text: string): string {
  return /^(["'`])(.+)\1$/.exec(text.trim())?.[2] ?? text.trim();
}
