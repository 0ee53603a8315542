import { Controller, Delete, Get, Patch, Post, Put, type Type } from '@nestjs/common';
import { Caller } from '../access/index.js';
import { declarationOf } from '../actions/index.js';
import { Input } from '../dto/index.js';
import { Serves } from './serves.js';

const METHODS = { GET: Get, POST: Post, PUT: Put, PATCH: Patch, DELETE: Delete };

/**
 * The controller of a service: a route for each of its actions that declares one, which passes on the caller and the input.
 * Routes that stream, take raw bytes or are no actions are written by hand.
 */
export function RoutesOf(service: Type<object>): Type<object> {
  class Routes {
    constructor(readonly service: Record<string, (...args: unknown[]) => unknown>) {}
  }
  Object.defineProperty(Routes, 'name', { value: `${service.name}Routes` });
  Reflect.defineMetadata('design:paramtypes', [service], Routes);
  for (const [method, { value }] of Object.entries(Object.getOwnPropertyDescriptors(service.prototype)))
    if (typeof value === 'function') addRoute(Routes, service, method);
  Controller()(Routes);
  return Routes;
}

function addRoute({ prototype }: Type<{ service: object }>, service: Type<object>, method: string): void {
  const { route, input } = declarationOf(service.prototype[method]) ?? {};
  if (!route) return;
  const [verb, path] = route.split(' ') as [keyof typeof METHODS, string];
  prototype[method] = function (
    this: { service: Record<string, (...args: unknown[]) => unknown> },
    ...args: unknown[]
  ) {
    return this.service[method]?.(...args);
  };
  Caller()(prototype, method, 0);
  if (input) Input()(prototype, method, 1);
  Reflect.defineMetadata('design:paramtypes', input ? [Object, input] : [Object], prototype, method);
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method) as TypedPropertyDescriptor<unknown>;
  METHODS[verb](path)(prototype, method, descriptor);
  Serves(service as never, method)(prototype, method, descriptor);
}
