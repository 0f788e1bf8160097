"""The libraries beside the language: what policies written for Kubernetes or cel-go use.

Ids follow cel-go's `ext` package and Kubernetes' `cel/library`. Macros (`cel.bind`, `optMap`, `sortBy`, the
two-variable comprehensions) are the parser's and need no declaration.
"""

from typing import Final

OPTIONALS: Final = """
optional_of                     optional.of               (A) -> optional_type(A)
optional_ofNonZeroValue         optional.ofNonZeroValue   (A) -> optional_type(A)
optional_none                   optional.none             () -> optional_type(A)
optional_hasValue               hasValue                  optional_type(A).() -> bool
optional_value                  value                     optional_type(A).() -> A
optional_or_optional            or                        optional_type(A).(optional_type(A)) -> optional_type(A)
optional_orValue_value          orValue                   optional_type(A).(A) -> A
optional_unwrap                 optional.unwrap           (list(optional_type(A))) -> list(A)
list_first                      first                     list(A).() -> optional_type(A)
list_last                       last                      list(A).() -> optional_type(A)
optional_unwrapOpt              unwrapOpt                 list(optional_type(A)).() -> list(A)
"""

STRINGS: Final = """
string_char_at_int              charAt          string.(int) -> string
string_index_of_string          indexOf         string.(string) -> int
string_index_of_string_int      indexOf         string.(string, int) -> int
string_last_index_of_string     lastIndexOf     string.(string) -> int
string_last_index_of_string_int lastIndexOf     string.(string, int) -> int
list_join                       join            list(string).() -> string
list_join_string                join            list(string).(string) -> string
string_lower_ascii              lowerAscii      string.() -> string
string_upper_ascii              upperAscii      string.() -> string
string_replace_string_string    replace         string.(string, string) -> string
string_replace_string_string_int replace        string.(string, string, int) -> string
string_split_string             split           string.(string) -> list(string)
string_split_string_int         split           string.(string, int) -> list(string)
string_substring_int            substring       string.(int) -> string
string_substring_int_int        substring       string.(int, int) -> string
string_trim                     trim            string.() -> string
string_reverse                  reverse         string.() -> string
string_format                   format          string.(list(dyn)) -> string
strings_quote                   strings.quote   (string) -> string
"""

LISTS: Final = """
list_slice                      slice           list(A).(int, int) -> list(A)
list_flatten                    flatten         list(A).() -> list(dyn)
list_flatten_int                flatten         list(A).(int) -> list(dyn)
list_distinct                   distinct        list(A).() -> list(A)
list_reverse                    reverse         list(A).() -> list(A)
list_sort                       sort            list(A).() -> list(A)
list_sort_by_associated_keys    @sortByAssociatedKeys  list(A).(list(B)) -> list(A)
lists_range                     lists.range     (int) -> list(int)
list_index_of                   indexOf         list(A).(A) -> int
list_last_index_of              lastIndexOf     list(A).(A) -> int
"""

MATH: Final = """
math_greatest_int64             math.greatest   (int...) -> int
math_greatest_uint64            math.greatest   (uint...) -> uint
math_greatest_double            math.greatest   (double...) -> double
math_greatest_number            math.greatest   (number...) -> dyn
math_greatest_list_int64        math.greatest   (list(int)) -> int
math_greatest_list_uint64       math.greatest   (list(uint)) -> uint
math_greatest_list_double       math.greatest   (list(double)) -> double
math_greatest_list_number       math.greatest   (list(number)) -> dyn
math_least_int64                math.least      (int...) -> int
math_least_uint64               math.least      (uint...) -> uint
math_least_double               math.least      (double...) -> double
math_least_number               math.least      (number...) -> dyn
math_least_list_int64           math.least      (list(int)) -> int
math_least_list_uint64          math.least      (list(uint)) -> uint
math_least_list_double          math.least      (list(double)) -> double
math_least_list_number          math.least      (list(number)) -> dyn
math_ceil_double                math.ceil       (double) -> double
math_floor_double               math.floor      (double) -> double
math_round_double               math.round      (double) -> double
math_trunc_double               math.trunc      (double) -> double
math_isInf_double               math.isInf      (double) -> bool
math_isNaN_double               math.isNaN      (double) -> bool
math_isFinite_double            math.isFinite   (double) -> bool
math_abs_double                 math.abs        (double) -> double
math_abs_int                    math.abs        (int) -> int
math_abs_uint                   math.abs        (uint) -> uint
math_sign_double                math.sign       (double) -> double
math_sign_int                   math.sign       (int) -> int
math_sign_uint                  math.sign       (uint) -> uint
math_sqrt_double                math.sqrt       (double) -> double
math_sqrt_int                   math.sqrt       (int) -> double
math_sqrt_uint                  math.sqrt       (uint) -> double
math_bitAnd_int_int             math.bitAnd     (int, int) -> int
math_bitAnd_uint_uint           math.bitAnd     (uint, uint) -> uint
math_bitOr_int_int              math.bitOr      (int, int) -> int
math_bitOr_uint_uint            math.bitOr      (uint, uint) -> uint
math_bitXor_int_int             math.bitXor     (int, int) -> int
math_bitXor_uint_uint           math.bitXor     (uint, uint) -> uint
math_bitNot_int_int             math.bitNot     (int) -> int
math_bitNot_uint_uint           math.bitNot     (uint) -> uint
math_bitShiftLeft_int_int       math.bitShiftLeft   (int, int) -> int
math_bitShiftLeft_uint_int      math.bitShiftLeft   (uint, int) -> uint
math_bitShiftRight_int_int      math.bitShiftRight  (int, int) -> int
math_bitShiftRight_uint_int     math.bitShiftRight  (uint, int) -> uint
"""

SETS: Final = """
list_sets_contains_list         sets.contains   (list(A), list(A)) -> bool
list_sets_equivalent_list       sets.equivalent (list(A), list(A)) -> bool
list_sets_intersects_list       sets.intersects (list(A), list(A)) -> bool
"""

ENCODERS: Final = """
base64_decode_string            base64.decode   (string) -> bytes
base64_encode_bytes             base64.encode   (bytes) -> string
"""

REGEX: Final = """
string_find_string              find            string.(string) -> string
string_find_all_string          findAll         string.(string) -> list(string)
string_find_all_string_int      findAll         string.(string, int) -> list(string)
regex_extract_string_string     regex.extract       (string, string) -> optional_type(string)
regex_extractAll_string_string  regex.extractAll    (string, string) -> list(string)
regex_replace_string_string_string      regex.replace   (string, string, string) -> string
regex_replace_string_string_string_int  regex.replace   (string, string, string, int) -> string
"""

NETWORK: Final = """
string_to_ip                    ip              (string) -> net.IP
is_ip                           isIP            (string) -> bool
ip_is_canonical                 ip.isCanonical  (string) -> bool
ip_to_string                    string          (net.IP) -> string
ip_family                       family          net.IP.() -> int
ip_is_unspecified               isUnspecified   net.IP.() -> bool
ip_is_loopback                  isLoopback      net.IP.() -> bool
ip_is_link_local_multicast      isLinkLocalMulticast  net.IP.() -> bool
ip_is_link_local_unicast        isLinkLocalUnicast    net.IP.() -> bool
ip_is_global_unicast            isGlobalUnicast       net.IP.() -> bool
string_to_cidr                  cidr            (string) -> net.CIDR
is_cidr                         isCIDR          (string) -> bool
cidr_to_string                  string          (net.CIDR) -> string
cidr_contains_ip                containsIP      net.CIDR.(net.IP) -> bool
cidr_contains_ip_string         containsIP      net.CIDR.(string) -> bool
cidr_contains_cidr              containsCIDR    net.CIDR.(net.CIDR) -> bool
cidr_contains_cidr_string       containsCIDR    net.CIDR.(string) -> bool
cidr_ip                         ip              net.CIDR.() -> net.IP
cidr_masked                     masked          net.CIDR.() -> net.CIDR
cidr_prefix_length              prefixLength    net.CIDR.() -> int
"""

QUANTITY: Final = """
string_to_quantity              quantity        (string) -> kubernetes.Quantity
is_quantity_string              isQuantity      (string) -> bool
quantity_sign                   sign            kubernetes.Quantity.() -> int
quantity_is_greater_than        isGreaterThan   kubernetes.Quantity.(kubernetes.Quantity) -> bool
quantity_is_less_than           isLessThan      kubernetes.Quantity.(kubernetes.Quantity) -> bool
quantity_compare_to             compareTo       kubernetes.Quantity.(kubernetes.Quantity) -> int
quantity_get_float              asApproximateFloat  kubernetes.Quantity.() -> double
quantity_get_int                asInteger       kubernetes.Quantity.() -> int
quantity_is_integer             isInteger       kubernetes.Quantity.() -> bool
quantity_add                    add             kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
quantity_add_int                add             kubernetes.Quantity.(int) -> kubernetes.Quantity
quantity_sub                    sub             kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
quantity_sub_int                sub             kubernetes.Quantity.(int) -> kubernetes.Quantity
"""

SEMVER: Final = """
string_to_semver                semver          (string) -> kubernetes.Semver
string_bool_to_semver           semver          (string, bool) -> kubernetes.Semver
is_semver_string                isSemver        (string) -> bool
is_semver_string_bool           isSemver        (string, bool) -> bool
semver_major                    major           kubernetes.Semver.() -> int
semver_minor                    minor           kubernetes.Semver.() -> int
semver_patch                    patch           kubernetes.Semver.() -> int
semver_compare_to               compareTo       kubernetes.Semver.(kubernetes.Semver) -> int
semver_is_greater_than          isGreaterThan   kubernetes.Semver.(kubernetes.Semver) -> bool
semver_is_less_than             isLessThan      kubernetes.Semver.(kubernetes.Semver) -> bool
"""

URLS: Final = """
string_to_url                   url             (string) -> kubernetes.URL
is_url_string                   isURL           (string) -> bool
url_get_scheme                  getScheme       kubernetes.URL.() -> string
url_get_host                    getHost         kubernetes.URL.() -> string
url_get_hostname                getHostname     kubernetes.URL.() -> string
url_get_port                    getPort         kubernetes.URL.() -> string
url_get_escaped_path            getEscapedPath  kubernetes.URL.() -> string
url_get_query                   getQuery        kubernetes.URL.() -> map(string,list(string))
"""

TABLES: Final = (OPTIONALS, STRINGS, LISTS, MATH, SETS, ENCODERS, REGEX, NETWORK, QUANTITY, SEMVER, URLS)

#: Types with a total order: `isSorted`, `min` and `max` exist for lists of them.
_ORDERED: Final = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")
_SUMMABLE: Final = ("int", "uint", "double", "duration")


def tables() -> tuple[str, ...]:
    """Return the tables of all libraries, the list functions that exist per element type written out."""
    per_element = [
        *(f"list_{type_}_is_sorted_bool isSorted list({type_}).() -> bool" for type_ in _ORDERED),
        *(f"list_{type_}_min_{type_} min list({type_}).() -> {type_}" for type_ in _ORDERED),
        *(f"list_{type_}_max_{type_} max list({type_}).() -> {type_}" for type_ in _ORDERED),
        *(f"list_{type_}_sum_{type_} sum list({type_}).() -> {type_}" for type_ in _SUMMABLE),
    ]
    return (*TABLES, "\n".join(per_element))
