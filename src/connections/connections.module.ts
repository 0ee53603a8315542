import { Module } from '@nestjs/common';
import { FlowsModule } from './flows/index.js';
import { TokensModule } from './tokens/index.js';

/** With whom: services of others, and the credentials for them. */
@Module({ imports: [TokensModule, FlowsModule] })
export class ConnectionsModule {}
