import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { type DevicePollsStore, POLL_SECONDS } from '../artifacts/device-polls.store.js';
import { OAUTH_ROUTES } from '../pages/routes.js';

const SLOW_DOWN = {
  error: 'slow_down',
  error_description: 'the device polls too often: add 5 seconds to its interval',
};

/**
 * Tells devices how often to poll, and those that poll more often while they wait for their person to slow down
 * (RFC 8628 section 3.5). Nothing else comes of it: a device whose person has decided is answered however soon it asks.
 */
export function keepPace(provider: Provider, polls: DevicePollsStore): void {
  provider.use(async (ctx, next) => {
    await next();
    const body = ctx.body as { error?: string; device_code?: string } | undefined;
    if (ctx.path === OAUTH_ROUTES.device_authorization && body?.device_code)
      ctx.body = { ...body, interval: POLL_SECONDS };
    if (ctx.path !== OAUTH_ROUTES.token || body?.error !== 'authorization_pending') return;
    const { params } = (ctx as KoaContextWithOIDC).oidc;
    if (!(await polls.poll(String(params?.device_code)))) ctx.body = SLOW_DOWN;
  });
}
