// What the variables have in common. Each message names the variable, what was found and what is needed.
import { applyDecorators } from '@nestjs/common';
import { Max, Min, ValidateBy, type ValidationOptions } from 'class-validator';

/** What was found, without possible secrets: the part before an `@`, and a query. */
export const found = (text: string): string =>
  text === ''
    ? 'not set'
    : `"${text
        .replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@')
        .replace(/[?#].*$/s, (rest) => `${rest[0]}***`)}"`;

export const needed = (what: string): ValidationOptions => ({
  message: ({ property, value }) => `${property} is ${found(String(value))}: ${what} is needed`,
});

/** A rule of our own, which may look at the other properties. */
export function Rule(holds: (value: never, all: never) => boolean, options: ValidationOptions) {
  const validate = (value: never, args?: { object: object }) => holds(value, args?.object as never);
  return ValidateBy({ name: 'rule', validator: { validate } }, options);
}

/** `min` to `max` inclusive. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  const options = needed(`a whole number from ${min} to ${max}`);
  return applyDecorators(Min(min, options), Max(max, options));
}
