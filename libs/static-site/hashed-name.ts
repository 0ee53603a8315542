/** Folders in which a framework gives every file a new name when its bytes change. */
const IMMUTABLE_FOLDER = /(^|\/)(_app\/immutable|_next\/static)\//;

/** Folders that bundlers write to: what looks like a hash there is taken for one more readily. */
const BUNDLED_FOLDER =
  /(^|\/)(assets|_astro|_nuxt|chunks|static\/(js|css|media)|js|css|img|fonts|build\/(js|css))\//;

/** Of extensions, the last two at most: `.js.map`. */
const EXTENSIONS = /(\.[a-z0-9]{1,11}){1,2}$/;

/**
 * Whether a file name has a hash of its content in it, as bundlers write them: `main.3f2a9c1d.js`, `assets/index-BxK3fTq9.js`. In
 * doubt it has none: that costs a request, the other mistake keeps old bytes in browsers for a year.
 */
export function looksHashed(path: string): boolean {
  if (path.endsWith('.html')) return false;
  if (IMMUTABLE_FOLDER.test(path)) return true;
  const name = path.slice(path.lastIndexOf('/') + 1);
  const isBundled = BUNDLED_FOLDER.test(path);
  // Without its extensions; with `main.3f2a9c1d.js`, the hash looks like one of them.
  for (const stem of [name.replace(/\.[^.]*$/, ''), name.replace(EXTENSIONS, '')]) {
    if (isHash(stem.split(/[.\-_]/).at(-1) ?? '', isBundled)) return true;
    // Of base64url, a hash of eight may have - and _ in it.
    if (isBundled && /[.\-_]/.test(stem.charAt(stem.length - 9)) && isHash(stem.slice(-8), true)) return true;
  }
  return false;
}

function isHash(text: string, isBundled: boolean): boolean {
  if (!/^[A-Za-z0-9_-]{8,64}$/.test(text)) return false;
  const digits = text.replace(/[^0-9]/g, '').length;
  if (/^[0-9a-f]+$/.test(text)) return digits >= 2 && text.length - digits >= 2;
  if (/^[A-Z2-7]{8}$/.test(text)) return digits >= 1 && text.length - digits >= 2;
  const inner = text.slice(1).replace(/[^A-Z]/g, '').length;
  if (!/[a-z]/.test(text)) return false;
  if (!isBundled) return digits >= 2 && inner >= 2;
  return inner >= 2 || (digits >= 1 && inner >= 1);
}
