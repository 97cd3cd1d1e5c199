package javax.annotation;

/** Replaces the annotation of this name, which the JDK no longer contains. */
public @interface Generated {
    String[] value();
    String comments() default "";
}
