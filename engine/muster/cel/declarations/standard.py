"""The operators and functions of the language itself, as the specification declares them.

Numbers compare across `int`, `uint` and `double` by value, as the specification's ordering rule says; the same
holds for `==`, `!=` and `in`, which the checker decides itself (`checker.calls`). Everything else is homogeneous.
"""

from typing import Final

TABLE: Final = """
conditional                     _?_:_           (bool, A, A) -> A
logical_and                     _&&_            (bool, bool) -> bool
logical_or                      _||_            (bool, bool) -> bool
logical_not                     !_              (bool) -> bool
equals                          _==_            (A, A) -> bool
not_equals                      _!=_            (A, A) -> bool

add_bytes                       _+_             (bytes, bytes) -> bytes
add_double                      _+_             (double, double) -> double
add_duration_duration           _+_             (duration, duration) -> duration
add_duration_timestamp          _+_             (duration, timestamp) -> timestamp
add_timestamp_duration          _+_             (timestamp, duration) -> timestamp
add_int64                       _+_             (int, int) -> int
add_list                        _+_             (list(A), list(A)) -> list(A)
add_string                      _+_             (string, string) -> string
add_uint64                      _+_             (uint, uint) -> uint
subtract_double                 _-_             (double, double) -> double
subtract_duration_duration      _-_             (duration, duration) -> duration
subtract_int64                  _-_             (int, int) -> int
subtract_timestamp_duration     _-_             (timestamp, duration) -> timestamp
subtract_timestamp_timestamp    _-_             (timestamp, timestamp) -> duration
subtract_uint64                 _-_             (uint, uint) -> uint
multiply_double                 _*_             (double, double) -> double
multiply_int64                  _*_             (int, int) -> int
multiply_uint64                 _*_             (uint, uint) -> uint
divide_double                   _/_             (double, double) -> double
divide_int64                    _/_             (int, int) -> int
divide_uint64                   _/_             (uint, uint) -> uint
modulo_int64                    _%_             (int, int) -> int
modulo_uint64                   _%_             (uint, uint) -> uint
negate_double                   -_              (double) -> double
negate_int64                    -_              (int) -> int

index_list                      _[_]            (list(A), int) -> A
index_map                       _[_]            (map(A,B), A) -> B
optional_list_index_int         _[_]            (optional_type(list(A)), int) -> optional_type(A)
optional_map_index_value        _[_]            (optional_type(map(A,B)), A) -> optional_type(B)
list_optindex_optional_int      _[?_]           (list(A), int) -> optional_type(A)
map_optindex_optional_value     _[?_]           (map(A,B), A) -> optional_type(B)
optional_list_optindex_optional_int   _[?_]     (optional_type(list(A)), int) -> optional_type(A)
optional_map_optindex_optional_value  _[?_]     (optional_type(map(A,B)), A) -> optional_type(B)
in_list                         @in             (A, list(A)) -> bool
in_map                          @in             (A, map(A,B)) -> bool

size_bytes                      size            (bytes) -> int
size_list                       size            (list(A)) -> int
size_map                        size            (map(A,B)) -> int
size_string                     size            (string) -> int
bytes_size                      size            bytes.() -> int
list_size                       size            list(A).() -> int
map_size                        size            map(A,B).() -> int
string_size                     size            string.() -> int

bool_to_bool                    bool            (bool) -> bool
string_to_bool                  bool            (string) -> bool
bytes_to_bytes                  bytes           (bytes) -> bytes
string_to_bytes                 bytes           (string) -> bytes
double_to_double                double          (double) -> double
int64_to_double                 double          (int) -> double
string_to_double                double          (string) -> double
uint64_to_double                double          (uint) -> double
duration_to_duration            duration        (duration) -> duration
string_to_duration              duration        (string) -> duration
double_to_int64                 int             (double) -> int
duration_to_int64               int             (duration) -> int
int64_to_int64                  int             (int) -> int
string_to_int64                 int             (string) -> int
timestamp_to_int64              int             (timestamp) -> int
uint64_to_int64                 int             (uint) -> int
bool_to_string                  string          (bool) -> string
bytes_to_string                 string          (bytes) -> string
double_to_string                string          (double) -> string
duration_to_string              string          (duration) -> string
int64_to_string                 string          (int) -> string
string_to_string                string          (string) -> string
timestamp_to_string             string          (timestamp) -> string
uint64_to_string                string          (uint) -> string
int64_to_timestamp              timestamp       (int) -> timestamp
string_to_timestamp             timestamp       (string) -> timestamp
timestamp_to_timestamp          timestamp       (timestamp) -> timestamp
double_to_uint64                uint            (double) -> uint
int64_to_uint64                 uint            (int) -> uint
string_to_uint64                uint            (string) -> uint
uint64_to_uint64                uint            (uint) -> uint
to_dyn                          dyn             (A) -> dyn
type                            type            (A) -> type(A)

contains_string                 contains        string.(string) -> bool
ends_with_string                endsWith        string.(string) -> bool
matches_string                  matches         string.(string) -> bool
matches                         matches         (string, string) -> bool
starts_with_string              startsWith      string.(string) -> bool

duration_to_hours               getHours        duration.() -> int
duration_to_minutes             getMinutes      duration.() -> int
duration_to_seconds             getSeconds      duration.() -> int
duration_to_milliseconds        getMilliseconds duration.() -> int
"""

#: The order of `<`, `<=`, `>`, `>=`: what they are called in ids, and how.
_ORDER: Final = (("less", "_<_"), ("less_equals", "_<=_"), ("greater", "_>_"), ("greater_equals", "_>=_"))
_ORDERED: Final = (
    ("bool", "bool"), ("int64", "int"), ("uint64", "uint"), ("double", "double"), ("string", "string"),
    ("bytes", "bytes"), ("timestamp", "timestamp"), ("duration", "duration"),
)  # fmt: skip
_NUMBERS: Final = (("int64", "int"), ("uint64", "uint"), ("double", "double"))
_CALENDAR: Final = (
    ("year", "getFullYear"), ("month", "getMonth"), ("day_of_year", "getDayOfYear"),
    ("day_of_month", "getDayOfMonth"), ("day_of_month_1_based", "getDate"), ("day_of_week", "getDayOfWeek"),
    ("hours", "getHours"), ("minutes", "getMinutes"), ("seconds", "getSeconds"), ("milliseconds", "getMilliseconds"),
)  # fmt: skip


def table() -> str:
    """Return the table with its regular families written out: the orderings and the calendar."""
    lines = [TABLE]
    for word, operator in _ORDER:
        lines += [f"{word}_{id_} {operator} ({type_}, {type_}) -> bool" for id_, type_ in _ORDERED]
        lines += [
            f"{word}_{id_}_{other_id} {operator} ({type_}, {other}) -> bool"
            for id_, type_ in _NUMBERS
            for other_id, other in _NUMBERS
            if type_ != other
        ]
    for word, function in _CALENDAR:
        lines.append(f"timestamp_to_{word} {function} timestamp.() -> int")
        lines.append(f"timestamp_to_{word}_with_tz {function} timestamp.(string) -> int")
    return "\n".join(lines)
