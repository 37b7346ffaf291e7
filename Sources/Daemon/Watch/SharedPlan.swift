import Synchronization

/// A plan that several loops look at.
final class SharedPlan: Sendable {
  private let plan: Mutex<ExchangePlan>

  init(_ plan: ExchangePlan) { self.plan = Mutex(plan) }

  func withLock<T>(_ body: (inout ExchangePlan) -> T) -> T { plan.withLock { body(&$0) } }
}
