/** A POSIX shell's command that runs exactly these words, whatever characters they contain (but NUL). */
export function quoteWords(words: string[]): string {
  return words.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
}
