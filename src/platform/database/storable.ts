/** JSON without what PostgreSQL's jsonb cannot hold: NUL characters and lone surrogates. */
export function storable(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'string' ? storableText(inner) : inner));
}

export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
