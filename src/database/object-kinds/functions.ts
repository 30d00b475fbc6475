/** Functions. Whether everybody may execute one is part of its definition. */
export const FUNCTIONS = `
  with described as (
    select
      function.oid::regprocedure as signature,
      pg_get_functiondef(function.oid) as creation,
      case
        when has_function_privilege('public', function.oid, 'execute')
          then format('grant execute on function public.%s to public;', function.oid::regprocedure)
        else format('revoke execute on function public.%s from public;', function.oid::regprocedure)
      end as access
    from pg_proc as function
    where function.pronamespace = 'public'::regnamespace and function.prokind = 'f'
  )
  select
    format('function %s', signature) as name,
    format('%s; %s', creation, access) as definition,
    array[creation || ';', access] as remedy,
    false as "isOff"
  from described
  order by name`;
