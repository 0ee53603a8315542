import { escapeHtml } from '#libs/html/index.js';
import { ProxyError } from '#libs/reverse-proxy/index.js';
import type { HtmlPage } from '../../../platform/pages/index.js';
import { NotReady, type NotReadyReason } from './server-instances.js';

export interface ServerFault {
  readonly status: number;
  readonly page: HtmlPage & { readonly detail: string };
  readonly headers: Readonly<Record<string, string>>;
}

const page = (title: string, detail: string) => ({
  title,
  detail,
  body: `<p>${escapeHtml(detail)}.</p>`,
});

const NOT_READY: Record<NotReadyReason, { title: string; detail: string }> = {
  stopped: { title: 'This server is stopped', detail: 'The server is stopped; its editors can start it' },
  failed: {
    title: 'This server has failed',
    detail: 'The server ended again and again, and is not started any more; its log says why',
  },
  crashed: {
    title: 'This server starts again soon',
    detail: 'The server has ended by itself, and is started again in a while',
  },
  late: { title: 'This server is starting', detail: 'The server is still starting; try again in a moment' },
  full: {
    title: 'This server is starting',
    detail: 'The server is starting, and many wait for it; try again in a moment',
  },
  gone: { title: 'There is nothing here', detail: 'The server was deleted' },
};

/** Undefined for errors of the service. Pages of temporary faults reload themselves. */
export function toFault(error: unknown): ServerFault | undefined {
  if (error instanceof NotReady) {
    const { title, detail } = NOT_READY[error.why];
    const seconds = error.retryAfterSeconds;
    const again = { 'retry-after': String(seconds), refresh: String(seconds) };
    const status = error.why === 'gone' ? 404 : 503;
    return { status, page: page(title, detail), headers: seconds === undefined ? {} : again };
  }
  if (!(error instanceof ProxyError) || error.fault === 'aborted') return undefined;
  const { status, fault, message } = error;
  const detail = fault === 'request' ? message : `${message}; its log may say why`;
  const title = status === 400 ? 'This request cannot be answered' : 'The server did not answer';
  return { status, page: page(title, detail), headers: status === 400 ? { connection: 'close' } : {} };
}
