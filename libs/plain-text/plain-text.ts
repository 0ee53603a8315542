const MAX_SHOWN = 120;

/**
 * The last name of a path as people may be shown it: what would break a line, turn the text around or stay unseen is a
 * visible sign, so that a name cannot pass for another.
 */
export function plainName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  // Joiners belong to words and emoji of many languages.
  const plain = name.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
  const signs = [...plain];
  return signs.length > MAX_SHOWN ? `${signs.slice(0, MAX_SHOWN).join('')}…` : plain;
}

const MAX_NAME = 80;

/** What stays unseen or turns text around, but for joiners, which belong to words and emoji of many languages. */
const UNSEEN = /(?![\u200c\u200d])[\p{Cf}\p{Co}\p{Cn}]/gu;
/** What would begin another line, and other control characters. */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;

/** Text of others as one line that reads as it stands: an unseen character is a visible sign, a line break a space. */
export const plainLine = (text: string): string =>
  text.toWellFormed().replace(BREAKS, ' ').replace(UNSEEN, '\ufffd').trim();

/** As {@link plainLine}, and no longer than a name has to be. */
export function shortName(name: string, max = MAX_NAME): string {
  const signs = [...plainLine(name)];
  return signs.length > max ? `${signs.slice(0, max).join('').trimEnd()}…` : signs.join('');
}

/** In JSON, all that is not seen, turns text around or passes for a blank; line breaks are JSON's own there. */
const HIDDEN = /(?![\n \u200c\u200d]|\ufe0f)[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;

/** A value as JSON that reads as it stands: a sign that is hidden, or passes for a blank, is written by its number. */
export const plainJson = (value: unknown, indent = 2): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replace(HIDDEN, sign =>
    Array.from(
      { length: sign.length },
      (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
