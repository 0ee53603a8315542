import type { Permission } from '../access/policy.js';
import { Shape } from '../http/field.js';

/** What a capability does to the world: drives approvals, read-only modes and annotations. */
export type Effect = 'read' | 'write' | 'destructive';

/**
 * One capability, declared once beside the method that does it. Every surface (REST, agent tools, MCP, exec tokens)
 * is a projection of this declaration.
 */
export interface ActionDeclaration {
  /** `^[a-z][a-z0-9_]{2,63}$`, noun first: `workspace_rename`. */
  readonly name: string;
  /** One line, imperative: what it does. */
  readonly summary: string;
  /** What a sentence or two must say beyond the summary. */
  readonly description?: string;
  /** What people call it; absent: its name in words. */
  readonly title?: string;
  readonly effect: Effect;
  /** What the caller must be allowed; null for what any signed-in caller may do to what is theirs. */
  readonly permission: Permission | null;
  readonly input: Shape | null;
  readonly output: Shape;
  /** Served over HTTP alone: it streams, or its input or output is raw bytes. No other surface lists it. */
  readonly restOnly?: true;
  /** For a person's own sign-in alone: no key, service account, run or token can do it. */
  readonly sessionOnly?: true;
  /** The field that names what it makes, by an id of the caller's choice: nothing has that id yet. */
  readonly makes?: string;
  /** What it can refuse beyond validation and access: status → when. */
  readonly refuses?: Readonly<Record<number, string>>;
}

const DECLARATION = Symbol('action');
const NAME = /^[a-z][a-z0-9_]{2,63}$/;

/** Declares a service method as a capability: `(actor, input) => Promise<output>`. */
export function Action(declaration: ActionDeclaration): MethodDecorator {
  if (!NAME.test(declaration.name)) throw new Error(`Action name ${declaration.name} does not match ${NAME}`);
  return (_target, _key, descriptor) => {
    if (descriptor.value) Reflect.defineMetadata(DECLARATION, declaration, descriptor.value as object);
  };
}

/** The declaration of a method, if it has one. */
export const declarationOf = (method: object): ActionDeclaration | undefined =>
  Reflect.getMetadata(DECLARATION, method);

/** The declaration of a service method; throws where there is none, which is a mistake in our own code. */
export function actionOf(method: object): ActionDeclaration {
  const declaration = declarationOf(method);
  if (!declaration)
    throw new Error(`${'name' in method ? method.name : 'A method'} is served but has no @Action`);
  return declaration;
}
