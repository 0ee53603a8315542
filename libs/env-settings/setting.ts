/** How one environment variable is read: its text form, its default and what it means to an operator. */
export interface Setting<T> {
  readonly name: string;
  readonly description: string;
  /** What `.env.example` shows; undefined for a setting that is unset by default. */
  readonly shown: string | undefined;
  read(raw: string | undefined): T;
}

export type Parse<T> = (raw: string, name: string) => T;

/** A setting that an operator got wrong; the message says which, and what it takes. */
export class InvalidSetting extends Error {}

export function setting<T>(name: string, description: string, parse: Parse<T>, fallback: T): Setting<T> {
  return {
    name,
    description,
    shown: fallback === undefined || fallback instanceof Map ? undefined : String(fallback),
    read: raw => (raw === undefined || raw === '' ? fallback : parse(raw, name)),
  };
}

/** A setting without a default. */
export const optional = <T>(name: string, description: string, parse: Parse<T>): Setting<T | undefined> =>
  setting<T | undefined>(name, description, parse, undefined);

/** The text of `.env.example`: every setting, its meaning and its default, all commented out. */
export function envExample(head: string, settings: Iterable<Setting<unknown>>): string {
  const blocks = Array.from(
    settings,
    ({ name, description, shown }) => `# ${description.replaceAll('\n', '\n# ')}\n# ${name}=${shown ?? ''}\n`,
  );
  return [head, ...blocks].join('\n');
}

/** A page in Markdown: under each subject its settings, with their meanings and defaults. */
export function settingsDocument(
  head: string,
  subjects: ReadonlyMap<string, readonly Setting<unknown>[]>,
): string {
  const sections = Array.from(subjects, ([subject, settings]) =>
    [`## ${subject}\n`, ...settings.map(entryOf)].join('\n'),
  );
  return [head, ...sections].join('\n');
}

function entryOf({ name, description, shown }: Setting<unknown>): string {
  const [meaning, ...parts] = description.split('\n');
  const list = parts.map(part => part.replace(/^ *(\w+):/, '- `$1`:')).join('\n');
  const byDefault = shown ? `Default: \`${shown}\`\n` : '';
  return [`### \`${name}\`\n`, `${meaning}\n`, list && `${list}\n`, byDefault].filter(Boolean).join('\n');
}
