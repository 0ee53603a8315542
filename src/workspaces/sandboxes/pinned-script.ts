/** What scripts may be written in. */
export const LANGUAGES = ['bash', 'python', 'node'] as const;
export type Language = (typeof LANGUAGES)[number];

const PROGRAMS: Record<Language, string> = { bash: 'bash', python: 'python3', node: 'node' };
export const SCRIPT_NAMES: Record<Language, string> = {
  bash: 'script.sh',
  python: 'script.py',
  node: 'script.mjs',
};

/** Longest result of a script, in bytes. */
export const MAX_SCRIPT_RESULT = 256 * 1024;

/** A script whose bytes were kept when it was deployed or a loop was made: no file of the workspace is run. */
export interface PinnedScript {
  readonly language: Language;
  readonly code: Buffer;
  /** Found at $ATELIER_INPUT. */
  readonly input?: string | Buffer;
  /** The line behind which what it writes to $ATELIER_OUTPUT is printed, and which it cannot know; absent: that is not read. */
  readonly marker?: string;
}

/** What runs it: a script for bash, and its standard input, which holds the code and then the input. */
export function runPinned({ language, code, input = 'null', marker }: PinnedScript): {
  script: string;
  stdin: Buffer;
} {
  const path = `"$d/${SCRIPT_NAMES[language]}"`;
  const result = marker
    ? `if [ -s "$d/output.json" ]; then printf '\\n%s\\n' '${marker}'; head -c ${MAX_SCRIPT_RESULT + 1} "$d/output.json"; fi\n`
    : '';
  const script = `d=$(mktemp -d) || exit 1
head -c ${code.byteLength} > ${path} && cat > "$d/input.json" || exit 1
export ATELIER_INPUT="$d/input.json" ATELIER_OUTPUT="$d/output.json"
${PROGRAMS[language]} ${path} </dev/null
code=$?
${result}exit $code`;
  return { script, stdin: Buffer.concat([code, typeof input === 'string' ? Buffer.from(input) : input]) };
}
