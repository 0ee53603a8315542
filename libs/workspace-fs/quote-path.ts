const SHOWN_CHARACTERS = 200;

/**
 * A path for a message: quoted, shortened in the middle, and with control, bidi and invisible format characters
 * escaped, so that a name cannot forge lines of a log or turn a sentence around.
 */
export function quotePath(path: string): string {
  if (path === '') return 'the workspace folder';
  const half = SHOWN_CHARACTERS / 2;
  const short = path.length > SHOWN_CHARACTERS ? `${path.slice(0, half)}…${path.slice(-half)}` : path;
  return `"${short.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}"\\]/gu, escapeCharacter)}"`;
}

function escapeCharacter(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`;
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
