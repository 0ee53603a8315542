/** What a page of events may take, besides its first one. */
export const PAGE_BYTES = 128 * 1024;
/** What an event may take that older versions wrote; of a larger one only the small fields are told. */
export const MAX_EVENT_BYTES = 512 * 1024;
/** What one field of an event may take. */
export const MAX_FIELD_BYTES = 256 * 1024;

/**
 * The data of an event as it is told: of a field that is too large only its name, in `omitted`. Many may watch a run, and
 * the answer, the input and the output of a call are kept with the run, where each is read once.
 */
export function withinBounds(data: Record<string, unknown>): Record<string, unknown> {
  const omitted = Object.keys(data).filter(name => isLarge(data[name]));
  if (omitted.length === 0) return data;
  const kept = Object.entries(data).filter(([name]) => !omitted.includes(name));
  return { ...Object.fromEntries(kept), omitted };
}

function isLarge(value: unknown): boolean {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return false;
  // As JSON, which is what is stored and sent; what is short in letters is never too large in bytes.
  if (typeof value === 'string' && value.length * 6 <= MAX_FIELD_BYTES) return false;
  return Buffer.byteLength(JSON.stringify(value)) > MAX_FIELD_BYTES;
}
