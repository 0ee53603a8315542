import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bytesOf } from '#libs/fastify-hardening/index.js';
import { html } from '#libs/html/index.js';
import { receiveFiles, sanitised, UploadNames } from '#libs/http-files/index.js';
import { plainName } from '#libs/plain-text/index.js';
import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Quotas } from '../../../identity/auth/index.js';
import { Config } from '../../../platform/config/index.js';
import {
  icon,
  isAbsent,
  OutsideWrites,
  problemHtml,
  type SharePage,
  sendSharePage,
  sizeInWords,
  visitorProblem,
} from '../../exposure/index.js';
import { type Visit, VisitsService } from './visits.service.js';

export interface Drop {
  readonly home: string;
  readonly name: string;
  readonly maxFiles: number;
  readonly maxBytes: number;
  readonly received?: readonly string[];
  readonly problem?: string;
  readonly status?: number;
}

/** Takes files in, and shows nothing of what is there. */
export function dropPage({
  home,
  name,
  maxFiles,
  maxBytes,
  received = [],
  problem,
  status,
}: Drop): SharePage {
  const names = received.map(one => html`<li>${one}</li>`);
  const body = html`<div class="card inside">${icon('inbox')}<h1>Hand in files</h1>
<p class="lead">They go to “${name}”. Only the people there see what was handed in.</p>
${problemHtml(problem)}
${received.length > 0 && html`<div class="done" role="status">Received, thank you:<ul>${names}</ul></div>`}
<form method="post" action="${home}/upload" enctype="multipart/form-data">
<label for="files">Files</label>
<input id="files" name="files" type="file" multiple required aria-describedby="limits">
<button type="submit">Hand in</button>
</form>
<p class="note" id="limits">Up to ${maxFiles} files at once, ${sizeInWords(maxBytes)} each.</p></div>`;
  return { title: `Hand in files: ${name}`, body, narrow: true, status };
}

const MAX_FILES = 20;
const MAX_TIMES_AN_HOUR = 120;

/** Handing files in to a folder: never over one that is there, and without a look at what is. */
@Injectable()
export class Dropping {
  private readonly names = new UploadNames();

  constructor(
    private readonly visits: VisitsService,
    private readonly quotas: Quotas,
    private readonly writes: OutsideWrites,
    private readonly config: Config,
  ) {}

  async show(visit: Visit, { method }: FastifyRequest, reply: FastifyReply): Promise<void> {
    await requireFolder(visit);
    if (method === 'GET') this.visits.count(visit, 'views');
    sendSharePage(reply, dropPage(this.form(visit)));
  }

  async receive(visit: Visit, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await requireFolder(visit);
    await this.quotas.spendOfAddress('share-upload', request.ip, MAX_TIMES_AN_HOUR);
    const received: string[] = [];
    const failure = await this.storeAndCount(visit, request, received);
    sendSharePage(reply, dropPage({ ...this.form(visit), received, ...failure }));
  }

  private async storeAndCount(visit: Visit, request: FastifyRequest, received: string[]) {
    try {
      return await this.store(visit, request, received);
    } finally {
      if (received.length > 0) await this.visits.uploaded(visit, received.length);
    }
  }

  /** Files that came before one that failed stay, and are reported. */
  private async store(
    visit: Visit,
    request: FastifyRequest,
    received: string[],
  ): Promise<{ problem: string; status: number } | undefined> {
    try {
      const { headers, body } = request;
      const form = { headers, body: body instanceof Readable ? bytesOf(body) : undefined };
      await receiveFiles(form, MAX_FILES, async (name, bytes) => {
        received.push(await this.storeOne(visit, sanitised(name), bytes));
      });
    } catch (error) {
      const problem = isAbsent(error) ? undefined : visitorProblem(error);
      if (!problem) throw error;
      return { problem: `${problem.detail}.`, status: problem.status };
    }
    return received.length > 0 ? undefined : { problem: 'Choose at least one file.', status: 422 };
  }

  /** Returns the name that it got. */
  private async storeOne(visit: Visit, wanted: string, bytes: AsyncIterable<Uint8Array>): Promise<string> {
    const { files, link } = visit;
    const workspaceId = link.workspace_id;
    const writer = { type: 'share', id: link.id } as const;
    const name = await this.names.use(
      {
        keyOf: name => `${workspaceId} ${visit.pathOf(name)}`,
        isFree: name => files.isFree(visit.pathOf(name)),
        write: name =>
          this.writes.write({ workspaceId, files, path: visit.pathOf(name), writer }, bytes, {
            ifNoneMatch: '*',
          }),
      },
      wanted,
    );
    if (name === null) throw new WorkspaceFsError('exists', wanted);
    return name;
  }

  private form({ home, name }: Visit): Drop {
    return {
      home,
      name: plainName(name),
      maxFiles: MAX_FILES,
      maxBytes: this.config.workspaceLimits.file_bytes,
    };
  }
}

async function requireFolder(visit: Visit): Promise<void> {
  const { type, path } = await visit.stat('');
  if (type !== 'directory') throw new WorkspaceFsError('not_found', path);
}
