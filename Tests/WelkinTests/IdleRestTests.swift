import Testing

@testable import welkin

@Suite(.timeLimit(.minutes(1)))
struct IdleRestTests {
    @Test func `memory is given back once after each time of work`() {
        var rest = IdleRest()
        var time = Duration.zero
        func look(after work: Duration) -> Bool {
            time += work
            return rest.isDue(processorTime: time)
        }
        #expect(!look(after: .seconds(2)))
        #expect(look(after: .milliseconds(20)))
        #expect(!look(after: .milliseconds(20)))
        #expect(!look(after: .seconds(4)))
        #expect(!look(after: .seconds(4)))
        #expect(look(after: .zero))
        #expect(!look(after: .zero))
    }
}
