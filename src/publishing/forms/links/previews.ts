import { Injectable } from '@nestjs/common';
import { NotFound } from '../../../platform/errors/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { ShareOrigin } from '../../exposure/index.js';

const LASTS_MS = 15 * 60_000;
const CONTEXT = 'form preview';

export interface Preview {
  readonly workspace_id: string;
  readonly number: number;
  readonly path: string;
  readonly until: number;
}

/** Addresses that show a form for some minutes, without being shared; what they show is in the address, sealed. */
@Injectable()
export class Previews {
  private readonly seal: Seal;

  constructor(
    private readonly origin: ShareOrigin,
    vault: Vault,
  ) {
    this.seal = vault.seal('form previews');
  }

  /** 409 where there is no host for links. */
  make(place: Omit<Preview, 'until'>): { url: string; expires_at: string } {
    this.origin.requireUsable();
    const until = Date.now() + LASTS_MS;
    const sealed = this.seal.close(JSON.stringify({ ...place, until }), CONTEXT).toString('base64url');
    return { url: this.origin.at(`/f/preview/${sealed}`) ?? '', expires_at: new Date(until).toISOString() };
  }

  open(sealed: string): Preview {
    const opened = this.seal.open(Buffer.from(sealed, 'base64url'), CONTEXT);
    const preview = opened && (JSON.parse(opened.toString()) as Preview);
    if (!preview || preview.until <= Date.now()) throw new NotFound('No such preview');
    return preview;
  }
}
