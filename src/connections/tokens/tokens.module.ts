import { Module } from '@nestjs/common';
import { TokenRenewal } from './token-renewal.js';
import { TokenUpkeep } from './token-upkeep.js';
import { Tokens } from './tokens.js';
import { TokensStore } from './tokens.store.js';

/** Tokens for services of others. */
@Module({ providers: [Tokens, TokensStore, TokenRenewal, TokenUpkeep], exports: [Tokens] })
export class TokensModule {}
