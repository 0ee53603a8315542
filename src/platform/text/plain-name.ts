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
