import { applyDecorators } from '@nestjs/common';
import { IsNotEmpty, IsOptional, Matches } from 'class-validator';
import { Rule } from '../configuration/rules.js';
import { FILTERS, type Filters } from '../lookups/filters.js';
import { LIMITS, MAX_CODE_CHARACTERS } from '../problems/limits.js';

/** Characters are code points, as in PostgreSQL: MaxLength counts some of them otherwise. */
const fits = (value: string): boolean => Array.from(value).length <= MAX_CODE_CHARACTERS;

const IsFilter = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsNotEmpty({ message: '$property is empty: give a value or leave it out.' }),
    Rule(fits, { message: `$property has more than ${LIMITS.filter}.` }),
    Matches(/^\P{Cc}*$/u, { message: '$property holds control characters.' }),
  );

export class CommunicationCodesQuery implements Filters {
  @IsFilter()
  readonly codeType?: string;

  @IsFilter()
  readonly code?: string;
}

export const PARAMETERS: readonly string[] = Object.keys(FILTERS);
