/** Items in their order, in batches that are bounded in files and bytes; of a batch, only the first may be over the bound. */
export function* batchesOf<T extends { readonly size: number }>(
  items: readonly T[],
  most: { files: number; bytes: number },
): Generator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const full = batch.length === most.files || bytes + item.size > most.bytes;
    if (batch.length > 0 && full) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += item.size;
  }
  if (batch.length > 0) yield batch;
}
