export interface DemoCommand {
  /** The line as it was written. */
  line: string;
  tool: string;
  input: Record<string, string>;
}

interface Verb {
  usage: string;
  means: string;
  pattern: RegExp;
  tool: string;
  input: (...groups: string[]) => Record<string, string>;
}

const VERBS: Verb[] = [
  {
    usage: 'list [PATH]',
    means: 'shows what a folder holds',
    pattern: /^list(?:\s+(.+))?$/i,
    tool: 'list_files',
    input: (path = '') => ({
      path: /^$|^((all|the)\s+)*(files|folders|everything)$/i.test(path) ? '.' : bare(path),
    }),
  },
  {
    usage: 'read PATH',
    means: 'shows a file',
    pattern: /^read\s+(.+)$/i,
    tool: 'read_file',
    input: (path = '') => ({ path: bare(path) }),
  },
  {
    usage: 'write PATH: TEXT',
    means: 'puts the text into a file',
    pattern: /^write\s+([^:]+?)\s*:\s?(.*)$/i,
    tool: 'write_file',
    input: (path = '', content = '') => ({ path: bare(path), content }),
  },
  {
    usage: 'run COMMAND',
    means: 'runs a shell command in the sandbox',
    pattern: /^run\s+(.+)$/i,
    tool: 'bash',
    input: (command = '') => ({ command: bare(command) }),
  },
  {
    usage: 'search TEXT',
    means: 'finds files that contain the text',
    pattern: /^search\s+(.+)$/i,
    tool: 'search_files',
    input: (query = '') => ({ query: bare(query) }),
  },
];

/** One line of help for each command. */
export const DEMO_COMMANDS: readonly string[] = VERBS.map(verb => `\`${verb.usage}\` ${verb.means}`);

/** The commands in a message, in order; other lines are passed over. */
export function readCommands(message: string): DemoCommand[] {
  return message.split(/\r?\n/).flatMap(raw => {
    const line = raw.replace(/^\s*(?:[-*]\s+|\d+[.)]\s+)?/, '').trimEnd();
    for (const { pattern, tool, input } of VERBS) {
      const match = pattern.exec(line);
      if (match) return [{ line, tool, input: input(...match.slice(1)) }];
    }
    return [];
  });
}

/** Without the quotes or backticks that people put around a whole argument. */
function bare(text: string): string {
  return /^(["'`])(.+)\1$/.exec(text.trim())?.[2] ?? text.trim();
}
