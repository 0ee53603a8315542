import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { PdfText } from '#libs/document-text/index.js';
import { TookTooLong } from '#libs/worker-pool/index.js';
import { quotePath, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { task, Workers } from '../../platform/workers/index.js';
import type { ContentView, ReadContent } from './files.dto.js';

const PDF = task('libs/document-text/pdf-text-task', 'pdfText');
const NOTEBOOK = task('libs/document-text/notebook-text-task', 'notebookText');

const MAX_BYTES = 32 * 1024 * 1024;
const PDF_LIMITS = { characters: 2_000_000, ms: 15_000 };
/** A single page may take long. */
const PDF_MS = 30_000;
const NOTEBOOK_MS = 10_000;
const PDF_MARK = '%PDF-';

/** Texts are asked for in parts, one after the other: so many are kept. */
const MAX_KEPT = 8;

/** Files that are documents, as the text that is written in them. */
@Injectable()
export class DocumentTexts {
  /** By place and etag. */
  private readonly kept = new LRUCache<string, string>({ max: MAX_KEPT });

  constructor(private readonly workers: Workers) {}

  /** Lines of the text of a PDF, or a notebook; undefined for any other file. */
  async read(
    files: WorkspaceFs,
    { workspace_id, path, ...range }: ReadContent,
  ): Promise<ContentView | undefined> {
    const isNotebook = /\.ipynb$/i.test(path);
    const file = await files.openRead(path);
    try {
      const { size, etag, path: at } = file.entry;
      const head = await file.readAt(0, PDF_MARK.length);
      const isPdf = head.toString('latin1') === PDF_MARK;
      if (!isPdf && !isNotebook) return undefined;
      if (size > MAX_BYTES)
        throw unreadable(at, `it has ${size} bytes, and its text is taken out of up to ${MAX_BYTES}`);
      const key = `${workspace_id} ${at} ${etag}`;
      const text = this.kept.get(key) ?? (await this.textOf(at, await file.bytes(), isPdf));
      if (text === undefined) return undefined;
      this.kept.set(key, text);
      const rendered = isPdf ? 'pdf' : 'notebook';
      return { path: at, etag: etag ?? '', size, ...linesOf(text, range), rendered };
    } finally {
      await file.close();
    }
  }

  private async textOf(path: string, bytes: Buffer, isPdf: boolean): Promise<string | undefined> {
    try {
      if (!isPdf)
        return (await this.workers.run<string | null>(NOTEBOOK, bytes.toString(), NOTEBOOK_MS)) ?? undefined;
      const { text, fault } = await this.workers.run<PdfText>(PDF, { bytes, limits: PDF_LIMITS }, PDF_MS);
      if (text !== null) return text;
      throw unreadable(path, fault === 'password' ? 'it needs a password' : 'it is broken');
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      throw unreadable(path, 'its text cannot be taken out in time');
    }
  }
}

function linesOf(text: string, { start_line = 1, end_line }: Pick<ReadContent, 'start_line' | 'end_line'>) {
  const lines = text.split('\n');
  const wanted = lines.slice(start_line - 1, end_line);
  return {
    content: wanted.map(line => `${line}\n`).join(''),
    start_line,
    end_line: start_line - 1 + wanted.length,
    total_lines: lines.length,
    truncated: false,
  };
}

const unreadable = (path: string, why: string): WorkspaceFsError =>
  new WorkspaceFsError('not_text', path, `The text of ${quotePath(path)} cannot be shown: ${why}`);
