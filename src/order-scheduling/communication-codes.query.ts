import { applyDecorators } from '@nestjs/common';
import { IsNotEmpty, IsOptional, Matches, ValidateBy } from 'class-validator';
import { FILTERS, type Filters } from '../lookups/filters.js';
import { LIMITS, MAX_FILTER_CHARACTERS } from '../problems/limits.js';

/** Characters are code points, as in PostgreSQL: MaxLength counts some of them otherwise. */
const MaxCharacters = (most: number, message: string): PropertyDecorator =>
  ValidateBy(
    {
      name: 'maxCharacters',
      validator: { validate: (value: string) => Array.from(value).length <= most },
    },
    { message },
  );

const IsFilter = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsNotEmpty({ message: '$property is empty: give a value or leave it out.' }),
    MaxCharacters(MAX_FILTER_CHARACTERS, `$property has more than ${LIMITS.filter}.`),
    Matches(/^\P{Cc}*$/u, { message: '$property holds control characters.' }),
  );

/** The query of the communication codes: each parameter restricts the records to those that are equal to it. */
export class CommunicationCodesQuery implements Filters {
  @IsFilter()
  readonly codeType?: string;

  @IsFilter()
  readonly code?: string;
}

export const PARAMETERS: readonly string[] = Object.keys(FILTERS);
