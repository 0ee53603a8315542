/** Finds links and paths in Markdown that lead nowhere. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const LINK = /!?\[(?:[^\]\\]|\\.)*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g;
const CODE_PATH =
  /`((?:(?:src|libs|test|docs|scripts|docker|console|deploy)\/[\w./@-]*[\w/])|[\w./-]*\w\.(?:ts|mjs))`/g;

/**
 * `{file, line, problem}` of each link or path in the Markdown files of the folder `root` that leads nowhere. `files` are all
 * its files. A path counts from the root, or is the end of that of any file.
 */
export function deadLinks(root, files) {
  const exists = target =>
    existsSync(path.join(root, target)) ||
    files.some(file => `/${file}`.endsWith(`/${target.replace(/^\.\//, '')}`));
  const anchors = new Map();
  const anchorsOf = file => {
    if (!anchors.has(file)) anchors.set(file, readAnchors(readFileSync(file, 'utf8')));
    return anchors.get(file);
  };
  return files
    .filter(file => file.endsWith('.md'))
    .flatMap(file => {
      const lines = withoutCode(readFileSync(path.join(root, file), 'utf8'));
      return lines.flatMap((text, index) => {
        const links = [...text.matchAll(LINK)].map(([, target]) => deadLink(root, file, target, anchorsOf));
        const paths = [...text.matchAll(CODE_PATH)].flatMap(([, target]) =>
          exists(target) ? [] : [nowhere(target)],
        );
        return [...links, ...paths].filter(Boolean).map(problem => ({ file, line: index + 1, problem }));
      });
    });
}

function deadLink(root, file, target, anchorsOf) {
  if (/^(?:[a-z]+:|\/)/i.test(target)) return undefined;
  const [to, anchor] = target.split('#');
  const place = to ? path.resolve(root, path.dirname(file), decodeURIComponent(to)) : path.join(root, file);
  if (!existsSync(place)) return nowhere(target);
  if (!anchor || statSync(place).isDirectory() || !place.endsWith('.md')) return undefined;
  return anchorsOf(place).has(anchor) ? undefined : `${target}: ${path.basename(place)} has no such heading`;
}

const nowhere = target => `${target}: there is no such file`;

/** Headings as GitHub names them in addresses. */
function readAnchors(text) {
  const seen = new Map();
  return new Set(
    withoutCode(text).flatMap(line => {
      const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1];
      if (heading === undefined) return [];
      const name = heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/g, '-');
      const count = seen.get(name) ?? 0;
      seen.set(name, count + 1);
      return [count === 0 ? name : `${name}-${count}`];
    }),
  );
}

/** The lines of a document; those of fenced blocks are empty. */
function withoutCode(text) {
  let fence;
  return text.split('\n').map(line => {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence === undefined && mark) fence = mark;
    else if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
    } else return line;
    return '';
  });
}
