import { Module } from '@nestjs/common';
import { ChatSummariesStore } from './chat-summaries.store.js';
import { Compactor } from './compactor.js';

/** What a model is given of a long chat. */
@Module({
  providers: [ChatSummariesStore, Compactor],
  exports: [ChatSummariesStore, Compactor],
})
export class ContextModule {}
