import type { ErrorOut } from 'oidc-provider';
import { escapeHtml, type HtmlPage } from '../../../platform/pages/index.js';

/** What a person can do about it, where the standard's own words would not tell. */
const ADVICE: Record<string, string> = {
  invalid_client:
    'The application that sent you here is not known, or what it says of itself cannot be read.',
  invalid_redirect_uri: 'The application asked to send you back to an address that it did not register.',
  server_error: 'Something went wrong on our side. Please try again.',
};
const GONE =
  'It was answered already, is older than half an hour, or was begun in another browser. What you answered stands. If the application still waits, go back to it and start again there.';
const EXPIRED = /expired|not found|already used/;

/** A failure that cannot be told to the application, because it is not known where that is. */
export function errorPage({ error, error_description }: ErrorOut): HtmlPage {
  const gone = error === 'invalid_request' && EXPIRED.test(error_description ?? '');
  const advice = gone
    ? GONE
    : (ADVICE[error] ?? 'The application that sent you here made a request that cannot be answered.');
  const details = [error, error_description].filter(Boolean).join(': ');
  return {
    title: gone ? 'This page is over' : 'This did not work',
    body: `<p>${escapeHtml(advice)}</p>
${gone ? '' : `<p class="aside">For its developers: ${escapeHtml(details)}</p>`}`,
  };
}
