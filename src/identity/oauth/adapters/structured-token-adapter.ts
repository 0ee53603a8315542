import type { AdapterPayload } from 'oidc-provider';
import type { TokenHandles } from '../tokens/token-handles.js';
import { PartialAdapter } from './partial-adapter.js';

/** Access tokens are JWTs that nobody keeps; oidc-provider finds them by the handle that stands for one. */
export class StructuredTokenAdapter extends PartialAdapter {
  constructor(
    private readonly model: string,
    private readonly handles: TokenHandles,
  ) {
    super();
  }

  async upsert(): Promise<void> {
    throw new Error('Access tokens are JWTs; there is no opaque one to keep');
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const payload = await this.handles.open(id);
    return payload?.kind === this.model ? payload : undefined;
  }

  /** Ends it before its time; those of a grant end with the grant. */
  destroy(jti: string): Promise<void> {
    return this.handles.revoke(jti);
  }
}
