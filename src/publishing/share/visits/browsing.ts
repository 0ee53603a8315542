import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientGone } from '#libs/fastify-hardening/index.js';
import { Html } from '#libs/html/index.js';
import { contentDisposition, sendFile } from '#libs/http-files/index.js';
import { type Entry, normalizePath, parentOf, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { FolderZips } from '../../../workspaces/archives/index.js';
import { isAbsent, isHidden, isVisit, sendNotice, sendSharePage } from '../../exposure/index.js';
import { type FileView, filePage, isShownByBytes } from '../pages/file-page.js';
import { folderPage, readSort } from '../pages/folder-page.js';
import { nameOf } from '../pages/location.js';
import { Renderings } from './renderings.js';
import { type Visit, VisitsService } from './visits.service.js';

const MAX_ENTRIES = 2000;
const MAX_TEXT_FILE = 4_000_000;
const MAX_TEXT_SHOWN = 400_000;
const MAX_LINES = 5000;
const README = /^readme\.(md|markdown)$/i;

/** Looking at what is shared, and saving it where that is allowed. */
@Injectable()
export class Browsing {
  constructor(
    private readonly visits: VisitsService,
    private readonly renderings: Renderings,
    private readonly zips: FolderZips,
  ) {}

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
      if (isSaved && isVisit(request)) this.visits.count(visit, 'downloads');
      return sendFile(request, reply, await visit.files.openRead(entry.path), raw !== undefined);
    }
    const text = await readShownText(visit, entry);
    const beside = { home: visit.home, folder: parentOf(within), hasNeighbours: within !== '' };
    const rendered = text && (await this.renderings.render(text.content, entry.path, beside));
    const location = visit.location(within);
    const view: FileView = { location, entry, savable: visit.savable, text, rendered };
    if (isVisit(request)) this.visits.count(visit, 'views');
    sendSharePage(reply, filePage(view));
  }

  private async showFolder(visit: Visit, within: string, { path }: Entry, exchange: Exchange): Promise<void> {
    const { request, reply } = exchange;
    const { entries, next } = await visit.files.list(path, { limit: MAX_ENTRIES });
    const shown = entries.filter(isShown);
    const { sort } = request.query as Record<string, unknown>;
    if (isVisit(request)) this.visits.count(visit, 'views');
    sendSharePage(
      reply,
      folderPage({
        location: visit.location(within),
        entries: shown,
        cut: next !== null,
        sort: readSort(sort),
        savable: visit.savable,
        readme: await this.readReadme(visit, within, shown),
      }),
    );
  }

  private async sendFolder(visit: Visit, entry: Entry, within: string, exchange: Exchange): Promise<void> {
    const { request, reply } = exchange;
    if (!visit.savable) return sendNotice(reply, 'not_for_saving');
    const isHead = request.method === 'HEAD';
    const zip = isHead
      ? Readable.from([])
      : await this.zips.open({
          workspaceId: visit.link.workspace_id,
          linkId: visit.link.id,
          files: visit.files,
          path: entry.path,
          isLeftOut: isHidden,
          signal: clientGone(reply),
        });
    if (isVisit(request)) this.visits.count(visit, 'downloads');
    void reply
      .headers({
        'content-type': 'application/zip',
        'content-disposition': contentDisposition('attachment', `${nameOf(visit.location(within))}.zip`),
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'no-store',
      })
      .send(zip);
  }

  private async readReadme(
    visit: Visit,
    within: string,
    entries: readonly Entry[],
  ): Promise<Html | undefined> {
    const readme = entries.find(({ path, type }) => type === 'file' && README.test(lastNameOf(path)));
    if (!readme) return undefined;
    try {
      const text = await readShownText(visit, readme);
      const beside = { home: visit.home, folder: within, hasNeighbours: true };
      const rendered = text && (await this.renderings.render(text.content, readme.path, beside));
      return rendered && new Html(rendered.html);
    } catch (error) {
      // It went, or became something else, since the folder was listed.
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

const isShown = ({ path, type }: Entry): boolean =>
  (type === 'file' || type === 'directory') && !isHidden(lastNameOf(path));

const lastNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

async function readShownText({ files }: Visit, { path, size }: Entry): Promise<FileView['text']> {
  if (isShownByBytes(path) || size > MAX_TEXT_FILE) return undefined;
  try {
    const read = await files.readText(path, { max_bytes: MAX_TEXT_SHOWN, end_line: MAX_LINES });
    if (read.content.includes('\0')) return undefined;
    const lines = read.total_lines ?? read.end_line;
    return { content: read.content, cut: read.truncated || lines > read.end_line, lines };
  } catch (error) {
    if (error instanceof WorkspaceFsError && error.code === 'not_text') return undefined;
    throw error;
  }
}
