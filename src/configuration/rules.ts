// What the variables have in common. Each message names the variable, what was found and what is needed.
import { applyDecorators } from '@nestjs/common';
import { Max, Min, ValidateBy, type ValidationOptions } from 'class-validator';

/** What was found, to be shown. */
function shown(text: string): string {
  return text === '' ? 'not set' : `"${withoutSecrets(text)}"`;
}

/** The parts of an address that may hold a password are the one before `@`, and a query or fragment. */
function withoutSecrets(text: string): string {
  const withoutUser = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@');
  return withoutUser.replace(/([?#]).*$/s, '$1***');
}

export const needed = (what: string): ValidationOptions => ({
  message: ({ property, value }) => `${property} is ${shown(String(value))}: ${what} is needed`,
});

/** A rule of our own, which may look at the other properties. */
export function Rule(holds: (value: never, all: never) => boolean, options: ValidationOptions) {
  const validate = (value: never, context?: { object: object }) => holds(value, context?.object as never);
  return ValidateBy({ name: 'rule', validator: { validate } }, options);
}

/** `min` to `max` inclusive. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  const options = needed(`a whole number from ${min} to ${max}`);
  return applyDecorators(Min(min, options), Max(max, options));
}
