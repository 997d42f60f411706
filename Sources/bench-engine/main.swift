import BenchEngine

runBenchmarks()
