import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Entry, normalizePath, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { zipFolder } from '../../archives/zip-folder.js';
import { contentDisposition } from '../../files/content-disposition.js';
import { sendFile } from '../../files/send-file.js';
import { isHidden } from '../below.js';
import { addressOf, nameOf } from '../pages/crumbs.js';
import { type FileView, filePage } from '../pages/file-page.js';
import { folderPage, sortOf } from '../pages/folder-page.js';
import type { Html } from '../pages/html.js';
import { sendSharePage } from '../pages/layout.js';
import { type Resolve, renderMarkdown } from '../pages/markdown.js';
import { isShownByBytes, showingOf } from '../pages/media.js';
import { sendNotice } from '../pages/notice-page.js';
import { isAbsent } from './told-to-visitors.js';
import type { Visit } from './visit.js';
import { VisitsService } from './visits.service.js';

const MOST_ENTRIES = 2000;
const MOST_TEXT_FILE = 4_000_000;
const MOST_TEXT_SHOWN = 400_000;
const MOST_LINES = 5000;
const README = /^readme\.(md|markdown)$/i;

/** Looking at what is shared, and saving it where that is allowed. */
@Injectable()
export class Browsing {
  constructor(@Inject(VisitsService) private readonly visits: VisitsService) {}

  async show(visit: Visit, within: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const entry = await visit.stat(within);
    const query = request.query as Record<string, unknown>;
    const below = normalizePath(within);
    if (entry.type === 'file') await this.showFile(visit, below, entry, { request, reply });
    else if (entry.type !== 'directory') throw new WorkspaceFsError('not_found', entry.path);
    else if (query.download !== undefined) await this.sendFolder(visit, entry, below, { request, reply });
    else await this.showFolder(visit, below, entry, { request, reply });
  }

  private async showFile(visit: Visit, within: string, entry: Entry, exchange: Exchange): Promise<void> {
    const { request, reply } = exchange;
    const { raw, download } = request.query as Record<string, unknown>;
    if (download !== undefined || raw !== undefined) {
      const isSaved = download !== undefined || !isShownByBytes(entry.path);
      if (isSaved && !visit.savable) return sendNotice(reply, 'not_for_saving');
      if (isSaved && isFirst(request)) await this.visits.count(visit, 'downloads');
      return sendFile(request, reply, await visit.files.openRead(entry.path), raw !== undefined);
    }
    const view: FileView = {
      place: visit.place(within),
      entry,
      savable: visit.savable,
      text: await textOf(visit, entry),
      resolve: resolveFrom(visit, within.slice(0, Math.max(0, within.lastIndexOf('/'))), within !== ''),
    };
    if (isFirst(request)) await this.visits.count(visit, 'views');
    sendSharePage(reply, filePage(view));
  }

  private async showFolder(visit: Visit, within: string, { path }: Entry, exchange: Exchange): Promise<void> {
    const { request, reply } = exchange;
    const { entries, next } = await visit.files.list(path, { limit: MOST_ENTRIES });
    const shown = entries.filter(isShown);
    const { sort } = request.query as Record<string, unknown>;
    if (isFirst(request)) await this.visits.count(visit, 'views');
    sendSharePage(
      reply,
      folderPage({
        place: visit.place(within),
        entries: shown,
        cut: next !== null,
        sort: sortOf(sort),
        savable: visit.savable,
        readme: await readmeOf(visit, within, shown),
      }),
    );
  }

  private async sendFolder(visit: Visit, entry: Entry, within: string, exchange: Exchange): Promise<void> {
    const { request, reply } = exchange;
    if (!visit.savable) return sendNotice(reply, 'not_for_saving');
    const isHead = request.method === 'HEAD';
    const zip = isHead ? Readable.from([]) : await zipFolder(visit.files, entry.path, isHidden);
    if (isFirst(request)) await this.visits.count(visit, 'downloads');
    void reply
      .headers({
        'content-type': 'application/zip',
        'content-disposition': contentDisposition('attachment', `${nameOf(visit.place(within))}.zip`),
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'no-store',
      })
      .send(zip);
  }
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Players and resumed downloads fetch a file in many parts; they count once. */
const isFirst = ({ method, headers: { range } }: FastifyRequest): boolean =>
  method === 'GET' && (range === undefined || /^bytes=0-/.test(range));

const isShown = ({ path, type }: Entry): boolean =>
  (type === 'file' || type === 'directory') && !isHidden(path.slice(path.lastIndexOf('/') + 1));

async function textOf({ files }: Visit, { path, size }: Entry): Promise<FileView['text']> {
  if (isShownByBytes(path) || size > MOST_TEXT_FILE) return undefined;
  try {
    const read = await files.readText(path, { max_bytes: MOST_TEXT_SHOWN, end_line: MOST_LINES });
    if (read.content.includes('\0')) return undefined;
    const cut = read.truncated || read.total_lines > read.end_line;
    return { content: read.content, cut, lines: read.total_lines };
  } catch (error) {
    if (error instanceof WorkspaceFsError && error.code === 'not_text') return undefined;
    throw error;
  }
}

async function readmeOf(visit: Visit, within: string, entries: readonly Entry[]): Promise<Html | undefined> {
  const readme = entries.find(
    ({ path, type }) => type === 'file' && README.test(path.slice(path.lastIndexOf('/') + 1)),
  );
  if (!readme || showingOf(readme.path) !== 'markdown') return undefined;
  try {
    const text = await textOf(visit, readme);
    return text && renderMarkdown(text.content, resolveFrom(visit, within, true));
  } catch (error) {
    // It went, or became something else, since the folder was listed.
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Relative addresses in a text lead to what is shared beside it; a file that is shared alone has nothing beside it. */
function resolveFrom(visit: Visit, folder: string, hasNeighbours: boolean): Resolve {
  return address => {
    if (!hasNeighbours || address === '') return undefined;
    const base = `http://share/${folder === '' ? '' : `${folder.split('/').map(encodeURIComponent).join('/')}/`}`;
    if (!URL.canParse(address, base)) return undefined;
    const path = new URL(address, base).pathname.slice(1);
    try {
      return addressOf(visit.home, normalizePath(decodeURIComponent(path)));
    } catch (error) {
      if (error instanceof URIError || error instanceof WorkspaceFsError) return undefined;
      throw error;
    }
  };
}
