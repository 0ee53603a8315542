import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { networkOf } from '../../../platform/limits/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';

/** What a page of a form carries: which response it becomes, and when it was made. */
export interface Ticket {
  readonly key: string;
  /** Milliseconds since it was made. */
  readonly age: number;
  /** The name of the field that people do not see. */
  readonly decoy: string;
}

/** Words that programs like to fill in. */
const WORDS = ['website', 'company', 'homepage', 'fax', 'nickname', 'message2'];

/** Signed by the service, for one form. */
@Injectable()
export class Tickets {
  private readonly seal: Seal;
  private readonly addresses: Seal;

  constructor(vault: Vault) {
    this.seal = vault.seal('form tickets');
    this.addresses = vault.seal('form addresses');
  }

  issue(formId: string, at = Date.now()): { ticket: string; decoy: string } {
    const key = randomUUID();
    const time = at.toString(36);
    const ticket = `${key}.${time}.${this.seal.sign(`${formId} ${key} ${time}`)}`;
    return { ticket, decoy: chooseDecoy(key) };
  }

  /** Undefined for what is no ticket of the form. */
  read(formId: string, ticket: string): Ticket | undefined {
    const [, key = '', time = '', signature = ''] =
      /^([0-9a-f-]{36})\.([0-9a-z]{1,12})\.([\w-]{1,200})$/.exec(ticket) ?? [];
    if (key === '' || !this.seal.verify(`${formId} ${key} ${time}`, signature)) return undefined;
    return { key, age: Date.now() - Number.parseInt(time, 36), decoy: chooseDecoy(key) };
  }

  /** What tells addresses of one form apart, and is worth nothing without our key. */
  addressHash(formId: string, address: string): string {
    return this.addresses.sign(`${formId} ${networkOf(address)}`);
  }
}

/** Another one for each page; the key is random. */
function chooseDecoy(key: string): string {
  return `${WORDS[Number.parseInt(key.slice(0, 2), 16) % WORDS.length]}_${key.slice(-8)}`;
}
