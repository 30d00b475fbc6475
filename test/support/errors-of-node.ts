// Within Jest, errors that Node.js itself makes (of TLS, of parseArgs, …) are no instances of the Error that modules
// see. For what is run in the process of the test they are, as they are everywhere else.
import { types } from 'node:util';

const { [Symbol.hasInstance]: isInstance } = Function.prototype;

function hasInstance(this: typeof Error, value: unknown): boolean {
  if ((this as unknown) === AggregateError) return types.isNativeError(value) && 'errors' in value;
  if (this !== Error) return isInstance.call(this, value);
  return types.isNativeError(value) || value instanceof DOMException;
}

/** Classes that extend Error inherit it. */
export function acceptErrorsOfNode(): void {
  Object.defineProperty(Error, Symbol.hasInstance, { value: hasInstance, configurable: true });
}
