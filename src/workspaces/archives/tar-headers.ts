import type { Extract } from 'tar-stream';

/** Records and long names of one entry (pax, GNU tar). A path may have 4096 bytes; attributes come on top. */
const MAX_ENTRY_HEADER_BYTES = 64 * 1024;
/** Records that hold for every entry that follows: each of them gets a copy. */
const MAX_GLOBAL_HEADER_BYTES = 4 * 1024;

/** How tar-stream decodes what stands before an entry. What this throws, its reader gets as the fault of the archive. */
interface HeaderDecoder {
  readonly _header: { readonly type: string };
  _decodeLongHeader(bytes: Uint8Array): void;
}

/**
 * Refuses headers that are out of proportion. tar-stream takes 4 MiB of them, decodes them in one go, and copies all global
 * records for each entry, so that an archive of a megabyte would keep the process busy for hours.
 */
export function limitHeaders(extract: Extract): Extract {
  const decoder = extract as unknown as HeaderDecoder;
  const decode = decoder._decodeLongHeader.bind(extract);
  decoder._decodeLongHeader = bytes => {
    const isGlobal = decoder._header.type === 'pax-global-header';
    const most = isGlobal ? MAX_GLOBAL_HEADER_BYTES : MAX_ENTRY_HEADER_BYTES;
    if (bytes.byteLength > most)
      throw new Error(`a header has ${bytes.byteLength} bytes, and may have ${most}`);
    decode(bytes);
  };
  return extract;
}
