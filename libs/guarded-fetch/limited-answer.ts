import type { Dispatcher } from 'undici';
import { GuardedFetchError } from './error.js';

/** Parts in which the bytes of one answer come. */
const MAX_PIECES = 50_000;
/** Interim answers (1xx) before the answer itself. */
const MAX_INTERIM = 8;

/** Gives up an answer whose many small parts would keep the event loop: pieces of its body, and interim answers. */
export const limitParts: Dispatcher.DispatcherComposeInterceptor = dispatch => (options, handler) => {
  let pieces = 0;
  let interim = 0;
  return dispatch(options, {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
    onResponseStart(controller, status, ...head) {
      if (status < 200 && ++interim > MAX_INTERIM)
        return controller.abort(
          new GuardedFetchError('size', `The server sends more than ${MAX_INTERIM} interim answers`),
        );
      handler.onResponseStart?.(controller, status, ...head);
    },
    onResponseData(controller, piece) {
      if (++pieces > MAX_PIECES)
        return controller.abort(
          new GuardedFetchError('size', `The answer comes in more than ${MAX_PIECES} pieces`),
        );
      handler.onResponseData?.(controller, piece);
    },
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  });
};
