const MAX_NAME_BYTES = 200;
const MAX_NUMBERED = 1000;
/** Of a longer name, this many characters of its beginning and of its end are looked at. */
const MAX_LOOKED_AT = 250;

/** Where files that arrive are put. */
export interface UploadFolder {
  /** Identifies the place of a name, among all folders. */
  keyOf(name: string): string;
  isFree(name: string): Promise<boolean>;
  write(name: string): Promise<unknown>;
}

/** Names of files that visitors hand in. Those that are being written are taken, too. */
export class UploadNames {
  private readonly taken = new Set<string>();

  /** Writes under a name that is free, numbered where the given one is not. Null: there are too many of this name. */
  async use(folder: UploadFolder, wanted: string): Promise<string | null> {
    for (let number = 0; number < MAX_NUMBERED; number++) {
      const name = number === 0 ? wanted : numbered(wanted, number);
      const key = folder.keyOf(name);
      if (this.taken.has(key)) continue;
      this.taken.add(key);
      try {
        if (!(await folder.isFree(name))) continue;
        await folder.write(name);
        return name;
      } finally {
        this.taken.delete(key);
      }
    }
    return null;
  }
}

/** One plain name of whatever a client calls a file: no folders, no signs that are not seen, no dot in front. */
export function sanitised(given: string): string {
  const base = shortened(given.slice(lastSeparator(given) + 1))
    .toWellFormed()
    .normalize('NFC');
  const plain = base.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*]/gu, '_').replace(/^[.\s]+|[.\s]+$/gu, '');
  const { stem, ending } = split(plain === '' ? 'file' : plain);
  return `${cutTo(stem, MAX_NAME_BYTES - Buffer.byteLength(ending))}${ending}`;
}

const lastSeparator = (path: string) => Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));

/** A name can be as long as the head of a form's part; what it costs is bounded before anything is done with it. */
const shortened = (name: string) =>
  name.length > 2 * MAX_LOOKED_AT ? name.slice(0, MAX_LOOKED_AT) + name.slice(-MAX_LOOKED_AT) : name;

function numbered(name: string, number: number): string {
  const { stem, ending } = split(name);
  return `${stem} (${number})${ending}`;
}

/** What is not short is no ending. */
function split(name: string): { stem: string; ending: string } {
  const [ending = ''] = /(?<=.)\.[^.\s]{1,12}$/u.exec(name) ?? [];
  return { stem: name.slice(0, name.length - ending.length), ending };
}

/** The longest beginning of whole characters that has no more bytes. */
function cutTo(text: string, bytes: number): string {
  let size = 0;
  let length = 0;
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > bytes) break;
    length += character.length;
  }
  return text.slice(0, length);
}
