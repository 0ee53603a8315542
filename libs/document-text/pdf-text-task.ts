import { getDocumentProxy } from 'unpdf';

export interface PdfText {
  /** A line for each line of text, with a heading for each page; null where it could not be read. */
  readonly text: string | null;
  /** Why it could not. */
  readonly fault: 'password' | 'broken' | null;
}

/** What is read of a PDF at most: characters, and milliseconds; the rest is left out, and the text says so. */
export interface PdfLimits {
  readonly characters: number;
  readonly ms: number;
}

/** The text of a PDF. How long a page takes is up to the file: for a thread with a deadline. */
export async function pdfText({ bytes, limits }: { bytes: Uint8Array; limits: PdfLimits }): Promise<PdfText> {
  const until = performance.now() + limits.ms;
  try {
    // A copy of its own: what is handed over to the parser is of no use to others any more.
    const pdf = await getDocumentProxy(new Uint8Array(bytes), {
      disableFontFace: true,
      useSystemFonts: false,
      verbosity: 0,
    });
    const pages = pdf.numPages;
    const parts = [`(PDF, ${pages} page${pages === 1 ? '' : 's'})`];
    let characters = 0;
    for (let number = 1; number <= pages; number++) {
      if (characters >= limits.characters || performance.now() >= until) {
        parts.push(`(pages ${number} to ${pages} are left out: it is too long)`);
        break;
      }
      const page = await pdf.getPage(number);
      const { items } = await page.getTextContent();
      page.cleanup();
      const text = items
        .map(item => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
        .join('')
        .slice(0, limits.characters)
        .toWellFormed()
        .trimEnd();
      characters += text.length;
      parts.push(`--- page ${number} ---`, text || '(no text: it may be a picture)');
    }
    return { text: parts.join('\n'), fault: null };
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    return { text: null, fault: name === 'PasswordException' ? 'password' : 'broken' };
  }
}
