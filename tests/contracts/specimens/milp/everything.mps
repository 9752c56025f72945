* a comment
NAME          TEST
OBJSENSE
    MAX
ROWS
 N  COST
 N  OTHER
 L  LIM1
 G  LIM2
 E  MYEQN
 E  NEGEQ
COLUMNS
    X         COST         1.0   LIM1         1.0
    X         LIM2         1.0   OTHER        7.0
    M1        'MARKER'                 'INTORG'
    Y         COST         2.0   LIM1         1.0
    Z         COST        -1.0   MYEQN        1.0
    B         MYEQN        2.0   NEGEQ        1.0
    M2        'MARKER'                 'INTEND'
    W         LIM2         1.0
    V         NEGEQ        1.0
    U         COST         0.0
    T         COST        -1.0
    S         COST         1.0
RHS
    RHS       COST       -12.5   LIM1         4.0
    RHS       LIM2         1.0   MYEQN        2.0
    RHS       NEGEQ        5.0
    OTHER     LIM1       100.0
RANGES
    RNG       LIM1         2.5   LIM2         3.0
    RNG       MYEQN        4.0   NEGEQ       -4.0
BOUNDS
 UP BND       X            4.0
 LO BND       Y           -1.0
 UP BND       Y            1.0
 BV BND       W
 FR BND       V
 MI BND       U
 UI BND       T            9.0
 UP BND       S           -3.0
ENDATA
