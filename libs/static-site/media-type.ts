import mime from 'mime';

/** Text that is sent as UTF-8 (RFC 9110 section 8.3.2); JSON has no charset (RFC 8259). */
const IN_UTF8 = /^(text\/|application\/(javascript|xml|xhtml\+xml|manifest\+json)$|image\/svg\+xml$)/;

const TYPES: Record<string, string> = {
  js: 'text/javascript',
  mjs: 'text/javascript',
  ts: 'text/plain',
  map: 'application/json',
};

/** The extension of a path's last part, in lower case; `''` where there is none. */
function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot < 1 ? '' : name.slice(dot + 1).toLowerCase();
}

const knownType = (path: string): string | undefined => {
  const extension = extensionOf(path);
  return extension === ''
    ? undefined
    : (Object.hasOwn(TYPES, extension) && TYPES[extension]) || mime.getType(extension) || undefined;
};

/** The `Content-Type` of a file by its name, with its charset; `application/octet-stream` where it is not known. */
export function mediaTypeOf(path: string): string {
  const type = knownType(path) ?? 'application/octet-stream';
  return IN_UTF8.test(type) ? `${type}; charset=utf-8` : type;
}

/** A path that names a script, an image, … and not a page: its extension is known, and is not that of HTML. */
export function isAsset(path: string): boolean {
  const type = knownType(path);
  return type !== undefined && type !== 'text/html';
}

/** Types that other formats do not compress already. */
const COMPRESSIBLE =
  /^(text\/.+|application\/(.+\+(json|xml)|json|javascript|xml|wasm|rtf|vnd\.ms-fontobject|x-ndjson|json5|toml|yaml|graphql)|font\/(ttf|otf|collection)|image\/(svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|model\/gltf\+json)$/;

/** Whether br and gzip are worth trying for a type (its parameters do not matter). */
export const isCompressible = (type: string): boolean => COMPRESSIBLE.test((type.split(';')[0] ?? '').trim());
