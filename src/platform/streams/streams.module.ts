import { Global, Module } from '@nestjs/common';
import { EventStreams } from './event-streams.js';

/** Responses that stay open: server-sent events. */
@Global()
@Module({ providers: [EventStreams], exports: [EventStreams] })
export class StreamsModule {}
