/** What becomes of one path in a commit. */
export type TreeChange =
  | { readonly path: string; readonly gone: true }
  | {
      readonly path: string;
      readonly gone: false;
      readonly blob: string;
      readonly executable: boolean;
    };

const quoted = (path: string) =>
  `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** One content, as git-fast-import(1) takes it. */
export function blobCommand(content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`blob\ndata ${content.byteLength}\n`), content, Buffer.from('\n')]);
}

/** The commit that changes paths, later ones over earlier ones; its contents are known by their names. */
export function commitCommand(changes: readonly TreeChange[], at: Date): Buffer {
  const message = `${changes.length} files`;
  const last = new Map(changes.map(change => [change.path, change]));
  const all = [...last.values()];
  // What is gone makes room first: a file may have become a folder, or a folder a file.
  const lines = [
    ...all.flatMap(({ path, gone }) => (gone ? [`D ${quoted(path)}`] : [])),
    ...all.flatMap(change =>
      change.gone
        ? []
        : [`M ${change.executable ? '100755' : '100644'} ${change.blob} ${quoted(change.path)}`],
    ),
  ];
  const head = [
    'commit refs/heads/main',
    `committer Atelier <history@atelier> ${Math.floor(at.getTime() / 1000)} +0000`,
    `data ${Buffer.byteLength(message)}`,
    message,
    'from refs/heads/main^0',
  ];
  return Buffer.from(`${[...head, ...lines, 'done'].join('\n')}\n`);
}
