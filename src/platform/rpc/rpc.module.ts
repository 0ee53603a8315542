import { Global, Module } from '@nestjs/common';
import { RpcStore } from './rpc.store.js';
import { RpcClient } from './rpc-client.js';
import { RpcServer } from './rpc-server.js';

/** Calls from one process to another. */
@Global()
@Module({ providers: [RpcClient, RpcServer, RpcStore], exports: [RpcClient, RpcServer] })
export class RpcModule {}
