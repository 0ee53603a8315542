/** What a browser may show from our own origin: nothing that can run script. */
const HARMLESS = /^(image\/(png|jpeg|gif|webp|avif|bmp)|application\/pdf|text\/plain|audio\/.+|video\/.+)$/;

/** Whether a file of this media type may be shown instead of saved. */
export const isHarmless = (mediaType: string): boolean => HARMLESS.test(mediaType);

/** Written for people and programs to read, and nothing in a browser: shown as it is written. */
const SHOWN_AS_TEXT = /^(text\/(markdown|csv|tab-separated-values|yaml)|application\/(json|toml))$/;

/** Whether a file of this media type is shown as plain text where it is to be shown. */
export const isShownAsText = (mediaType: string): boolean => SHOWN_AS_TEXT.test(mediaType);

/** `Content-Disposition` for any name (RFC 6266): plain ASCII, and the true name in UTF-8. */
export function contentDisposition(kind: 'inline' | 'attachment', name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    c => `%${c.charCodeAt(0).toString(16)}`,
  );
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
