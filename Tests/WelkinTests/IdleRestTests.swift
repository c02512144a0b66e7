import Testing

@testable import welkin

@Suite(.timeLimit(.minutes(1)))
struct IdleRestTests {
    @Test func `a process begins to rest once after each time of work`() {
        var rest = IdleRest()
        var time = Duration.zero
        func look(after work: Duration) -> IdleRest.State {
            time += work
            return rest.state(processorTime: time)
        }
        #expect(look(after: .seconds(2)) == .working)
        #expect(look(after: .milliseconds(20)) == .beginning)
        #expect(look(after: .milliseconds(20)) == .resting)
        #expect(look(after: .seconds(4)) == .working)
        #expect(look(after: .seconds(4)) == .working)
        #expect(look(after: .zero) == .beginning)
        #expect(look(after: .zero) == .resting)
    }
}
